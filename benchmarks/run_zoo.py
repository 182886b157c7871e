"""Run the zoo: `python benchmarks/run_zoo.py --help`. The package `zoo` beside this file has all of it."""

from zoo.run import main

if __name__ == "__main__":
    main()
