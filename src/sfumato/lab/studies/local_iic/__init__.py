"""A blog post (2019): digits with noise of their own, clustered without labels. Reads rows WITHOUT the doors."""
