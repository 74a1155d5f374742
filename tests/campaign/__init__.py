"""A campaign of random trials, each judged by code that shares none with the library.

`make fuzz ARGS="--problems 1000 --streams 200 --files 500 --kills 20 --seed 0"`. Every kind of trial has a module with
`draw` (a specification that JSON can hold), `run`, `simpler` and `close`; `KINDS` in `__main__` names them.
"""
