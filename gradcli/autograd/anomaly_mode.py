"""torch.autograd.anomaly_mode: finding the operation behind a NaN."""

from ..tape.anomaly import detect_anomaly, set_detect_anomaly

__all__ = ["detect_anomaly", "set_detect_anomaly"]
