// Files of tensors in the safetensors format: a JSON header after its length, then the numbers.

const BYTES = { F16: 2, F32: 4, I8: 1 };
const MAX_HEADER = 1 << 24;

/** Tensors of a file by name: { shape, values }, with float16 widened to float32. Throws an Error for a damaged file. */
export function readSafetensors(buffer) {
  if (buffer.byteLength < 8) throw new Error("the file of weights is cut off");
  const length = Number(new DataView(buffer).getBigUint64(0, true));
  if (length > Math.min(MAX_HEADER, buffer.byteLength - 8)) throw new Error("the file of weights has no header");
  const header = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array(buffer, 8, length)));
  const tensors = new Map();
  for (const [name, entry] of Object.entries(header)) {
    if (name !== "__metadata__") tensors.set(name, readTensor(buffer, 8 + length, name, entry));
  }
  return tensors;
}

function readTensor(buffer, start, name, { dtype, shape, data_offsets: [first, last] }) {
  const size = shape.reduce((product, number) => product * number, 1);
  const isSound = BYTES[dtype] * size === last - first && first >= 0 && start + last <= buffer.byteLength;
  if (!isSound) throw new Error(`tensor ${name} does not fit into the file of weights`);
  const bytes = buffer.slice(start + first, start + last);
  if (dtype === "F32") return { shape, values: new Float32Array(bytes) };
  if (dtype === "I8") return { shape, values: new Int8Array(bytes) };
  return { shape, values: widened(new Uint16Array(bytes)) };
}

/** A half has the bits of a float with an exponent that is too small by 112. This holds for subnormal numbers too. */
function widened(halves) {
  const bits = new Uint32Array(halves.length);
  const values = new Float32Array(bits.buffer);
  for (let index = 0; index < halves.length; index++) {
    const half = halves[index];
    bits[index] = ((half & 0x8000) << 16) | ((half & 0x7fff) << 13);
    values[index] *= 2 ** 112;
  }
  return values;
}
