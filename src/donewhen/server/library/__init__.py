"""What `donewhen.api` is made of: how a Python program reaches a service, and how its callables are reached.

Start with `calls`. The public names and their documentation are in `donewhen.api`.
"""
