"""gradcli: its own verdict."""

import gradcli


def judge(f, x, claimed):
    verdict = gradcli.check_gradient(f, lambda x: claimed, at={"x": x}).verdict
    return verdict if verdict in ("pass", "fail") else "inconclusive"
