"""A campaign of random problems, each judged by an evaluation that shares no code with the library.

`python -m tests.campaign --problems 1000 --seed 0` (or `make fuzz`). Every kind of trial has a module with
`draw`, `run`, `simpler` and `reproducer`; `KINDS` in `__main__` names them.
"""
