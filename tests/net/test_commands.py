"""`iot2 keygen`, `serve` and `client` as an operator and a device would call them."""

import json
import shutil
import ssl
import subprocess
from pathlib import Path
from typing import Any

import pytest
from net_support import write_items

from iot2 import SenderKey
from iot2.cli import main
from iot2.net import Client, LinkError, Options
from iot2.net.conversation import Conversation
from iot2.net.local import LocalServer


def port(server: LocalServer) -> str:
    return server.url.rsplit(":", 1)[1]


@pytest.fixture(scope="module")
def default(start_once: Any) -> LocalServer:
    """`iot2 serve` without options."""
    return start_once()


def test_the_default_server_says_what_it_is(default: LocalServer) -> None:
    output, errors = "\n".join(default.output), "\n".join(default.errors)
    assert f"fingerprint {default.fingerprint.hex()} (3072 bits, 1 of 2)" in output
    assert "ready on http://127.0.0.1:" in output.splitlines()[-1]
    assert "sessions end with this process" in output
    assert "only for trying" in errors


@pytest.mark.parametrize("more", [[], ["--async"]], ids=["sync", "async"])
def test_the_original_call(default: LocalServer, capsys: Any, more: list[str]) -> None:
    call = ["client", "-p", port(default), "-l", "1024", "-x", "100", "-y", "20000"]
    assert main([*call, "-b", "1", *more]) == 0
    captured = capsys.readouterr()
    assert captured.out == "20000\n"
    assert "80-bit security" in captured.err
    assert main([*call, "-b", "0", *more]) == 0
    assert capsys.readouterr().out == "100\n"


def test_json_and_count(default: LocalServer, capsys: Any) -> None:
    for more in ([], ["--async"], ["--batch", "2"], ["--async", "--batch", "2"], ["--masked"]):
        assert (
            main(["client", "-p", port(default), "-b", "1", "--count", "3", "--json", *more]) == 0
        )
        told = json.loads(capsys.readouterr().out)
        assert told["messages"] == ["demonstration message 1"] * 3
        assert told["fingerprint"] == default.fingerprint.hex()


def test_pinned_and_known_keys(default: LocalServer, capsys: Any, tmp_path: Path) -> None:
    call = ["client", "-p", port(default), "-x", "1", "-y", "2", "-b", "1"]
    fp = default.fingerprint.hex()
    assert main([*call, "--fingerprint", fp]) == 0
    assert main([*call, "--fingerprint", "ab" * 32]) == 2
    error = capsys.readouterr().err
    assert fp in error
    assert "ab" * 32 in error
    assert main([*call, "--fingerprint", "xyz"]) == 2
    known = str(tmp_path / "known")
    assert main([*call, "--known-keys", known]) == 0
    assert main([*call, "--known-keys", known]) == 0
    changed = (tmp_path / "known").read_text().replace(f"127.0.0.1:{port(default)}", "gone:1")
    other = SenderKey.generate(512, insecure=True).public
    import base64

    line = f"127.0.0.1:{port(default)} {other.fingerprint.hex()} "
    (tmp_path / "known").write_text(
        changed + line + base64.b64encode(other.to_bytes()).decode() + "\n"
    )
    capsys.readouterr()
    assert main([*call, "--known-keys", known]) == 2
    error = capsys.readouterr().err
    assert fp in error
    assert other.fingerprint.hex() in error


def test_wrong_calls_of_the_client(default: LocalServer, capsys: Any) -> None:
    for call, text in (
        (["-x", "1"], "both -x and -y"),
        (["-x", "-1", "-y", "2"], "0 to 2^64 - 1"),
        (["--item", "a", "-l", "2048"], "--item"),
        (["--item", "a"], "REFUSED"),
        (["-b", "2"], "choice"),
        (["-l", "5000"], "RANGE"),
        (["--host", "192.0.2.1"], "without TLS"),
        (["--count", "0"], "count"),
    ):
        assert main(["client", "-p", port(default), *call]) == 2, call
        assert text in capsys.readouterr().err, call
    assert main(["client", "-p", "1"]) == 2
    assert "cannot be reached" in capsys.readouterr().err


def test_items(start: Any, key_file: Path, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "m.csv").write_text("item,m0,m1\na,left,right\nb,hex:00ff,hex:01\nc,x,y\n")
    server = start("--key", str(key_file), "--messages", str(tmp_path / "m.csv"))
    assert "512 bits" in "\n".join(server.errors), "a small key is warned of"
    call = ["client", "-p", port(server)]
    assert main([*call, "--item", "a"]) == 2
    assert "bits" in capsys.readouterr().err, "and a client refuses it unasked"
    assert main([*call, "--item", "a", "-b", "1", "--insecure"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "right\n"
    assert "any size is accepted: for trying alone" in captured.err
    SenderKey.generate(2048).save(tmp_path / "k")
    server.stop()
    server = start("--key", str(tmp_path / "k"), "--messages", str(tmp_path / "m.csv"))
    call = ["client", "-p", port(server)]
    assert main([*call, "--item", "a", "-b", "0"]) == 2
    assert "SPENT: the item 'a'" in capsys.readouterr().err
    assert main([*call, "--item", "b", "--item", "c"]) == 0
    assert capsys.readouterr().out == "b: hex:00ff\nc: x\n"
    assert main([*call, "--item", "nothing"]) == 2
    assert "no item 'nothing'" in capsys.readouterr().err
    assert main([*call, "-x", "1", "-y", "2"]) == 2
    assert "demonstration" in capsys.readouterr().err


@pytest.fixture(scope="module")
def key_file_2048(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key that a client takes without being told that it may be small."""
    path = tmp_path_factory.mktemp("key") / "sender.key"
    SenderKey.generate(2048).save(path)
    return path


@pytest.mark.parametrize(
    "more",
    [[], ["--async"], ["--batch", "2"], ["--batch", "4"], ["--async", "--batch", "4"]],
    ids=" ".join,
)
def test_what_came_before_a_failure_is_shown(
    start: Any, key_file_2048: Path, tmp_path: Path, capsys: Any, monkeypatch: Any, more: list[str]
) -> None:
    """An item is spent by its transfer: its message must not be lost with a later one's."""
    (tmp_path / "m.csv").write_text("item,m0,m1\na,left,right\nb,up,down\nc,x,y\nd,x,y\n")
    server = start(
        "--key", str(key_file_2048), "--messages", str(tmp_path / "m.csv"), "--limit", "batch=2"
    )
    call = ["client", "-p", port(server), "-b", "1"]
    for name in "abcd":
        call += ["--item", name]
    spend_d_meanwhile(monkeypatch, server.url)
    assert main([*call, "--json", *more]) == 2
    captured = capsys.readouterr()
    messages = json.loads(captured.out)["messages"]
    assert messages[:2] == ["right", "down"]
    assert messages[3] is None
    assert "SPENT" in captured.err


def spend_d_meanwhile(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """Let someone else have the item `d` once the client has its session."""
    inner = Conversation.join

    def join(self: Conversation) -> Any:
        yield from inner(self)
        if self.options.items != ("d",):
            with Client(url, Options(items=("d",))) as other:
                other.transfer(0)

    monkeypatch.setattr(Conversation, "join", join)


@pytest.mark.parametrize("number", ["-1", "65536", "99999999999"])
def test_a_port_that_is_none(capsys: Any, number: str) -> None:
    for more in ([], ["--async"]):
        assert main(["client", "-p", number, *more]) == 2
        assert "port" in capsys.readouterr().err


@pytest.mark.parametrize("seconds", ["0", "-1", "nan"])
def test_a_time_that_is_none(capsys: Any, seconds: str) -> None:
    assert main(["client", "-p", "1", "--timeout", seconds]) == 2
    assert "timeout" in capsys.readouterr().err


def test_wrong_calls_of_the_server(
    key_file: Path, key_of_5: Path, tmp_path: Path, default: LocalServer, capsys: Any
) -> None:
    write_items(tmp_path / "m.csv", 2)
    key = ("--key", str(key_file))
    for call, text in (
        (("--host", "0.0.0.0"), "without TLS"),
        ((*key, "--tls-cert", "c"), "both a certificate"),
        ((*key, "--tls-cert", str(key_file), "--tls-key", str(key_file)), f"TLS in {key_file}"),
        ((*key, "--tls-cert", str(key_file), "--tls-key", "absent"), "absent: No such file"),
        ((*key, "--limit", "size=1"), "limit"),
        ((*key, "--reusable"), "--reusable"),
        ((*key, "--workers", "0"), "worker"),
        (("--key", str(tmp_path / "none")), "No such file"),
        (("--key", str(tmp_path / "m.csv")), "sender key"),
        (("--key", str(key_of_5), "--messages", str(tmp_path / "m.csv")), "rows of 5"),
        ((*key, "--messages", str(tmp_path / "none")), "No such file"),
    ):
        assert main(["serve", "-p", "0", *call]) == 2, call
        assert text in capsys.readouterr().err, call
    assert main(["serve", "-p", port(default), *key]) == 2
    assert f"port {port(default)}, came: Address already in use" in capsys.readouterr().err
    assert main(["serve", "-p", "70000", *key]) == 2


def test_keygen(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "sender.key"
    call = ["keygen", "-l", "1024", "-o", str(path), "--choices", "3"]
    assert main(call) == 0
    captured = capsys.readouterr()
    key = SenderKey.load(path, insecure=True)
    assert (key.bits, key.choices) == (1024, 3)
    assert f"fingerprint {key.fingerprint.hex()}" in captured.out
    assert "80-bit security" in captured.err
    assert path.stat().st_mode & 0o777 == 0o600
    assert main(call) == 2
    assert "already exists: --force replaces it" in capsys.readouterr().err
    assert SenderKey.load(path, insecure=True).fingerprint == key.fingerprint
    assert main([*call, "--force"]) == 0
    assert main(["keygen", "-l", "1000", "-o", str(tmp_path / "x")]) == 2
    error = capsys.readouterr().err
    assert "1024, 2048, 3072, 4096" in error
    assert "insecure" not in error, "that is Python's, not the command's"
    absent = tmp_path / "absent" / "sender.key"
    assert main(["keygen", "-l", "1024", "-o", str(absent)]) == 2
    assert f"{absent}: No such file" in capsys.readouterr().err
    assert main(["keygen", "-l", "2048", "--choices", "1", "-o", str(tmp_path / "x")]) == 2


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("", "--output takes the name of a file, got ''"),
        (".", ".: expected a file or nothing yet, came a folder"),
        ("device", "device: expected a file or nothing yet, came a device"),
    ],
    ids=["nothing", "folder", "device"],
)
def test_keygen_replaces_a_file_alone(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch, name: str, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(SenderKey, "generate", None)  # it is refused before a key is made
    (tmp_path / "device").symlink_to("/dev/full")
    for more in ([], ["--force"]):
        assert main(["keygen", "-l", "2048", "-o", name, *more]) == 2
        assert capsys.readouterr().err == f"iot2: {text}\n"
    assert [path.name for path in tmp_path.iterdir()] == ["device"]
    assert (tmp_path / "device").is_symlink()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate of this machine's own name and address, signed by itself."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("the command openssl is not here to make a certificate")
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
         "-keyout", key, "-out", cert, "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
        check=True, capture_output=True,
    )  # fmt: skip
    return cert, key


def test_tls(
    start: Any, key_file: Path, certificate: tuple[Path, Path], capsys: Any, tmp_path: Path
) -> None:
    cert, key = certificate
    server = start(
        "--key", str(key_file), "--tls-cert", str(cert), "--tls-key", str(key), "--host", "0.0.0.0"
    )
    assert server.url.startswith("https://")
    url = f"https://127.0.0.1:{port(server)}"
    options = Options(count=2, demo=(1, 2), insecure=True, timeout_s=5)
    with Client(url, options, ca_file=cert) as client:
        assert client.transfer(1)[-1] == 2
    with pytest.raises(LinkError, match="certificate verify failed"):
        Client(url, options).connect()
    call = ["client", "-p", port(server), "-x", "1", "-y", "2", "-b", "1"]
    for more in ([], ["--async"]):
        # The small key is refused, but only after the certificate was not.
        assert main([*call, "--ca-file", str(cert), *more]) == 2
        assert "modulus" in capsys.readouterr().err
        assert main([*call, "--tls", *more]) == 2
        assert "certificate" in capsys.readouterr().err
        assert main([*call, *more]) == 2
        assert "cannot be reached" in capsys.readouterr().err
    assert main([*call, "--ca-file", str(tmp_path / "none")]) == 2
    assert f"{tmp_path / 'none'}: No such file" in capsys.readouterr().err
    (tmp_path / "no.pem").write_text("nothing")
    assert main([*call, "--ca-file", str(tmp_path / "no.pem")]) == 2
    assert "no.pem: expected certificates in PEM" in capsys.readouterr().err
    assert ssl.create_default_context().check_hostname


def test_a_name_that_is_not_in_the_certificate(
    start: Any, key_file: Path, certificate: tuple[Path, Path]
) -> None:
    cert, key = certificate
    server = start(
        "--key", str(key_file), "--tls-cert", str(cert), "--tls-key", str(key),
        "--host", "127.0.0.2",
    )  # fmt: skip
    with pytest.raises(LinkError, match=r"certificate verify failed|mismatch"):
        Client(server.url, Options(insecure=True), ca_file=cert).connect()
