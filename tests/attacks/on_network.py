"""Network attacks. They only try to reach listeners of the test on the loopback of this machine."""

from attack import HEARD, Attack, granted, py, say, tcp, udp

ON_NETWORK = [
    Attack("A66", "a connection", tcp("127.0.0.1"), HEARD),
    Attack("A66", "a connection by bash", "bash -c 'exec 3<>/dev/tcp/127.0.0.1/'$TCP4", HEARD),
    Attack("A66", "a connection by curl", 'curl -s -m 0.5 "http://127.0.0.1:$TCP4/"', HEARD),
    Attack("A66", "a connection by name", tcp("localhost"), HEARD),
    Attack(
        "A66",
        "a connection to the machine's own address",
        py("""
            probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            probe.connect(("192.0.2.1", 9))  # sends nothing, but chooses the address to send from
            socket.socket().connect((probe.getsockname()[0], int(env["TCPANY"])))
        """),
        HEARD,
    ),
    Attack("A67", "a datagram", udp("127.0.0.1", "UDP4", "AF_INET"), HEARD),
    Attack("A67", "a datagram over IPv6", udp("::1", "UDP6", "AF_INET6"), HEARD),
    Attack(
        "A67",
        "a question to a name server",
        py("""
            query = b"\\x12\\x34\\x01\\0\\0\\x01" + bytes(6) + b"\\x06secret\\x07invalid\\0\\0\\x01\\0\\x01"
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.connect(("127.0.0.1", int(env["UDP4"])))
            s.send(query)
        """),
        HEARD,
    ),
    Attack("A68", "a connection over IPv6", tcp("::1", "TCP6", "AF_INET6"), HEARD),
    Attack("A68", "IPv4 within IPv6", tcp("::ffff:127.0.0.1", "TCP4", "AF_INET6"), HEARD),
    Attack("A68", "the address as one number", tcp("2130706433"), HEARD),
    Attack("A68", "the address in octal", tcp("0177.0.0.01"), HEARD),
    Attack("A68", "the address shortened", tcp("127.1"), HEARD),
    Attack("A68", "the name in other letters", tcp("LocalHost"), HEARD),
    Attack("A68", "the unspecified address", tcp("0.0.0.0"), HEARD),
    Attack("A68", "the unspecified address of IPv6", tcp("::", "TCP6", "AF_INET6"), HEARD),
    Attack("A72", "raw packets", granted("socket.socket(socket.AF_PACKET, socket.SOCK_RAW).fileno()")),
    Attack("A72", "raw internet packets", granted("socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).fileno()")),
    Attack("A72", "the host of a virtual machine", granted("socket.socket(40, socket.SOCK_STREAM).fileno()")),
    Attack("A72", "the kernel's ciphers", granted("socket.socket(38, socket.SOCK_SEQPACKET).fileno()")),
    Attack("A72", "a cluster's network", granted("socket.socketpair(30, socket.SOCK_STREAM)[0].fileno()")),
    Attack("A72", "network cards", say("len(socket.if_nameindex()) > 1")),
]
