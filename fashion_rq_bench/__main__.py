"""``python -m fashion_rq_bench`` is ``fashion-rq``."""

from fashion_rq_bench.cli import main

if __name__ == "__main__":
    main()
