"""Maker trees and judge trees, their layers, and the capture of their content.

A tree is a stack of directories; the sandbox mounts it. Start with `trees`.
"""
