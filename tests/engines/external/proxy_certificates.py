"""Certificates for test servers, made on demand and trusted only on request."""

import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

from needs import needs


@dataclass(frozen=True)
class Certificate:
    file: Path
    key: Path

    def server(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.file, self.key)
        return context

    def client(self) -> ssl.SSLContext:
        """A client that trusts this certificate alone."""
        return ssl.create_default_context(cafile=str(self.file))


def certificate(directory: Path, *names: str) -> Certificate:
    """For these names, which may be addresses as `IP:…`."""
    made = Certificate(directory / "server.pem", directory / "server.key")
    alternatives = ",".join(name if name.startswith("IP:") else f"DNS:{name}" for name in names)
    command = [needs("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "2", "-subj", "/CN=test", "-addext", f"subjectAltName={alternatives}"]
    subprocess.run([*command, "-keyout", made.key, "-out", made.file], check=True, capture_output=True)
    return made
