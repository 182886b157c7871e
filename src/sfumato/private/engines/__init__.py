"""Where rows are kept and added up: here, in processes of this machine, on Dask, on Spark. One small file each."""
