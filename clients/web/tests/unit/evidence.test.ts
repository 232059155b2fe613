import { describe, expect, test } from "vitest";
import { create } from "@bufbuild/protobuf";
import { PixelBoxSchema } from "@gen/common/v1/geometry_pb.ts";
import { targetInEvidence } from "@/model/evidence.ts";

const box = (x1: number, y1: number, x2: number, y2: number) => create(PixelBoxSchema, { x1, y1, x2, y2 });

describe("the target in the screenshot of an approval", () => {
  test("is behind the margin", () => {
    expect(targetInEvidence(box(600, 400, 680, 430), 560, 270)).toEqual({ x: 240, y: 120, width: 80, height: 30 });
  });

  test("is nearer where the screen ends", () => {
    expect(targetInEvidence(box(100, 50, 180, 80), 420, 200)).toEqual({ x: 100, y: 50, width: 80, height: 30 });
    // The right and the lower end cut the screenshot, and do not move the target.
    expect(targetInEvidence(box(1200, 760, 1270, 790), 320, 160)).toEqual({ x: 240, y: 120, width: 70, height: 30 });
  });

  test("is where it is in a whole screen", () => {
    expect(targetInEvidence(box(600, 400, 680, 430), 1280, 800)).toEqual({ x: 600, y: 400, width: 80, height: 30 });
  });

  test("is left out where it cannot be", () => {
    expect(targetInEvidence(undefined, 560, 270)).toBeUndefined();
    expect(targetInEvidence(box(600, 400, 680, 430), 0, 0)).toBeUndefined();
    expect(targetInEvidence(box(600, 400, 680, 430), 200, 100)).toBeUndefined();
  });
});
