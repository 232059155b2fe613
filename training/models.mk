# Training, evaluating and exporting models. See detector/README.md and icons/README.md.

PYTHON ?= .venv/bin/python
SCREENS ?= $(OUT)
RUN ?= $(OUT)/run
MINUTES ?= 110
FINISH ?= 0
MODEL ?= $(RUN)/weights.pt
# Folder with screenshots of real applications, optional.
APPLICATIONS ?=
REAL = $(if $(APPLICATIONS),--applications "$(APPLICATIONS)")
# Confidence threshold of the product, instead of the best one on the validation screens.
LEAST_SCORE ?=
ASKED = $(if $(LEAST_SCORE),--least-score $(LEAST_SCORE))

.PHONY: test train evaluate scene export card icons states icons-card

.venv/bin/python: requirements.txt
	python3 -m venv .venv
	.venv/bin/pip install --quiet --requirement requirements.txt
	touch $@

test: $(PYTHON)
	$(PYTHON) -m pytest -q -p no:cacheprovider tests

# Trains for MINUTES, then evaluates on unseen screens.
train: named $(PYTHON)
	$(PYTHON) -m detector.train --screens "$(SCREENS)" $(REAL) --run "$(RUN)" --minutes $(MINUTES) --finish $(FINISH)
	$(PYTHON) -m detector.evaluate --model "$(RUN)/weights.pt" --screens "$(SCREENS)" $(REAL) --out "$(RUN)" --gallery

evaluate: named $(PYTHON)
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
