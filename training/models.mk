# Training, evaluating and exporting models. See detector/README.md and icons/README.md.

PYTHON ?= .venv/bin/python
SCREENS ?= $(OUT)
RUN ?= $(OUT)/run
MINUTES ?= 110
FINISH ?= 0
MODEL ?= $(RUN)/weights.pt
# Weights to start from, with frozen norms; by default training starts from scratch or from the checkpoint in RUN.
WEIGHTS ?=
START = $(if $(WEIGHTS),--weights "$(WEIGHTS)" --keep-norms)
# The network that ships, and the number of samples that it was trained on (its model card).
SHIPPED = ../services/perception/models/detector.onnx
SHIPPED_SAMPLES = 931520
# Folder with screenshots of real applications, optional.
APPLICATIONS ?=
REAL = $(if $(APPLICATIONS),--applications "$(APPLICATIONS)")
# Confidence threshold of the product, instead of the best one on the validation screens.
CONFIDENCE_THRESHOLD ?=
ASKED = $(if $(CONFIDENCE_THRESHOLD),--confidence-threshold $(CONFIDENCE_THRESHOLD))

.PHONY: postprocess test test-without-torch weights train evaluate scene export card icons states icons-card

.venv/bin/python: requirements.txt
	python3 -m venv .venv
	.venv/bin/pip install --quiet --requirement requirements.txt
	touch $@

# The product's post-processing as a program for evaluation.
postprocess:
	cd .. && cargo build --locked --release -p motorium-perception --example detect_boxes

test: postprocess $(PYTHON)
	$(PYTHON) -m pytest -q -p no:cacheprovider tests

# Requires pytest, numpy and opencv-python-headless only.
test-without-torch: postprocess
	$(PYTHON) -m pytest -q -p no:cacheprovider tests/test_postprocess.py tests/test_inference.py tests/test_metrics.py tests/test_json_report.py

# Converts the network that ships to weights, to continue its training: make train WEIGHTS=$(RUN)/shipped.pt
weights: named $(PYTHON)
	mkdir -p "$(RUN)"
	$(PYTHON) -m detector.from_onnx --model $(SHIPPED) --images $(SHIPPED_SAMPLES) --out "$(RUN)/shipped.pt"

# Trains for MINUTES, then evaluates on unseen screens.
train: named postprocess $(PYTHON)
	$(PYTHON) -m detector.train --screens "$(SCREENS)" $(REAL) --run "$(RUN)" $(START) --minutes $(MINUTES) --finish $(FINISH)
	$(PYTHON) -m detector.evaluate --model "$(RUN)/weights.pt" --screens "$(SCREENS)" $(REAL) --out "$(RUN)" --gallery

evaluate: named postprocess $(PYTHON)
	$(PYTHON) -m detector.evaluate --model "$(MODEL)" --screens "$(SCREENS)" $(REAL) $(ASKED) --out "$(RUN)" --gallery

# Evaluates the whole product on the same screens: PROGRAM parses them with the model DETECTOR.
PROGRAM ?= motorium
DETECTOR ?= $(RUN)/detector.onnx

scene: named $(PYTHON)
	$(PYTHON) -m detector.scene --program "$(PROGRAM)" --detector "$(DETECTOR)" --screens "$(SCREENS)" --out "$(RUN)"

export: named $(PYTHON)
	$(PYTHON) -m detector.export --weights "$(RUN)/weights.pt" --screens "$(SCREENS)" --out "$(RUN)"

card: named $(PYTHON)
	$(PYTHON) -m detector.card --run "$(RUN)" --screens "$(SCREENS)" $(REAL)

icons: named $(PYTHON) pages/node_modules
	$(PYTHON) -m icons.train --packages pages/node_modules --run "$(RUN)" --minutes $(MINUTES)

states: named $(PYTHON)
	$(PYTHON) -m icons.states --screens "$(SCREENS)" --run "$(RUN)" --minutes $(MINUTES)

icons-card: named $(PYTHON)
	$(PYTHON) -m icons.card --run "$(RUN)"

.PHONY: named
named:
	@test -n "$(SCREENS)" || { echo 'set the folder with the screens: make train OUT=/somewhere' >&2; exit 2; }
