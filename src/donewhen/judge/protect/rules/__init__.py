"""The rules that decide for each changed path whether the work or the base is judged.

They use the tables of `names`, `commands` and `contents`. Start with `guard`, then `grade`.
"""
