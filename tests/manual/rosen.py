import json
import sys

for line in sys.stdin:
    request = json.loads(line)
    method = request["method"]
    if method == "ModelInfo":
        answer = {"support": {"Evaluate": True, "Gradient": True}}
    elif method == "InputSizes":
        answer = {"inputSizes": [2]}
    elif method == "OutputSizes":
        answer = {"outputSizes": [1]}
    else:
        ((x, y),) = request["input"]
        d = y - x * x
        if method == "Evaluate":
            answer = {"output": [[(1 - x) ** 2 + 100 * d * d]]}
        else:
            (s,) = request["sens"]
            answer = {"output": [s * (-2 * (1 - x) - 400 * x * d), s * 200 * d]}
    print(json.dumps(answer), flush=True)
