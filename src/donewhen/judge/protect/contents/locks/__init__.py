"""Lock files and lists of requirements: where each named dependency comes from, and which changes replace one.

One reader per format returns names with sources. `lock_files` compares two versions. Nothing is installed here.
"""
