"""Readers that turn the output of tools into plain data: one pure reader per test runner.

Bytes in, a `RunnerReport` out. Readers start nothing, open no file and know no other package, so that each can be
tested exhaustively. The judge knows who ran the tool and decides whether a report is believed.
"""
