"""All attacks in the order of the table: catalogue A1-A17, A48-A68, A72 as far as they run on a machine.

Not included, because they do not attack the sandbox: A5, A9 (the harness's own file tools and patches), A6-A8,
A14-A16 (protected files and unusual names, which the judge and the capture handle).
"""

from attack import Attack
from on_files import ON_FILES
from on_kernel import ON_KERNEL
from on_network import ON_NETWORK
from on_processes import ON_PROCESSES
from on_same_user import ON_SAME_USER


def order(attack: Attack) -> tuple[str, int]:
    return attack.id[0], int(attack.id[1:])


ATTACKS = sorted([*ON_FILES, *ON_PROCESSES, *ON_KERNEL, *ON_NETWORK, *ON_SAME_USER], key=order)
