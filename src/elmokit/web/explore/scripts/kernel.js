// Matrix products on the CPU: a WebAssembly function with SIMD (kernel.wat), and the memory that it works in.
//
// multiply(w, x, y, blocks, columns, count, strideX, strideY) adds, for each of `count` vectors, the product of a
// matrix with x to y. w, x, y and the strides are in bytes. A block is 32 rows of the matrix, column by column;
// `Memory.matrix` arranges a matrix in blocks.

const ROWS = 32;
/** kernel.wat, assembled: `wat2wasm kernel.wat -o - | base64`. */
const KERNEL = [
  "AGFzbQEAAAABDAFgCH9/f39/f39/AAIOAQJqcwZtZW1vcnkCAAADAgEABwwBCG11bHRpcGx5AAAKjgMBiwMCB38JewNAQQAhCSABIQsgAiEO",
  "A0AgACEKIAshDCALIARBBGxqIQ0gDv0AAAAhECAO/QAAECERIA79AAAgIRIgDv0AADAhEyAO/QAAQCEUIA79AABQIRUgDv0AAGAhFiAO/QAA",
  "cCEXA0AgDP0JAgAhDyAQIAr9AAAAIA/95gH95AEhECARIAr9AAAQIA/95gH95AEhESASIAr9AAAgIA/95gH95AEhEiATIAr9AAAwIA/95gH9",
  "5AEhEyAUIAr9AABAIA/95gH95AEhFCAVIAr9AABQIA/95gH95AEhFSAWIAr9AABgIA/95gH95AEhFiAXIAr9AABwIA/95gH95AEhFyAKQYAB",
  "aiEKIAxBBGoiDCANSQ0ACyAOIBD9CwAAIA4gEf0LABAgDiAS/QsAICAOIBP9CwAwIA4gFP0LAEAgDiAV/QsAUCAOIBb9CwBgIA4gF/0LAHAg",
  "CyAGaiELIA4gB2ohDiAJQQFqIgkgBUkNAAsgCiEAIAJBgAFqIQIgCEEBaiIIIANJDQALCw==",
].join("");

/** Float32 arrays in the memory of the kernel. `release(mark)` frees everything that was reserved after `mark()`. */
export class Memory {
  static async create() {
    const pages = new WebAssembly.Memory({ initial: 16 });
    const bytes = Uint8Array.from(atob(KERNEL), (byte) => byte.charCodeAt(0));
    const { instance } = await WebAssembly.instantiate(bytes, { js: { memory: pages } });
    return new Memory(pages, instance.exports.multiply);
  }

  constructor(pages, multiply) {
    this.pages = pages;
    this.end = 16;
    this.call = multiply;
  }

  /** Byte address of space for `length` numbers. */
  reserve(length) {
    const start = this.end;
    this.end = start + Math.ceil(length / 4) * 16;
    const missing = this.end + 4 * ROWS - this.pages.buffer.byteLength; // a product may write a few rows past its end
    if (missing > 0) this.pages.grow(Math.ceil(missing / 65536));
    return start;
  }

  /** The numbers at an address; valid until more memory is reserved. */
  view(address, length) {
    return new Float32Array(this.pages.buffer, address, length);
  }

  mark() {
    return this.end;
  }

  release(mark) {
    this.end = mark;
  }

  /** Copies a matrix (rows, columns), block by block. Zeros pad the last block, so that nothing after y changes. */
  matrix(values, rows, columns) {
    const blocks = Math.ceil(rows / ROWS);
    const address = this.reserve(blocks * ROWS * columns);
    const view = this.view(address, blocks * ROWS * columns);
    if (rows % ROWS) view.fill(0);
    for (let first = 0; first < rows; first += ROWS) {
      const last = Math.min(first + ROWS, rows);
      for (let column = 0; column < columns; column++) {
        const start = first * columns + column * ROWS - first;
        for (let row = first; row < last; row++) view[start + row] = values[row * columns + column];
      }
    }
    return { address, rows, columns, blocks };
  }

  /** Adds matrix @ x to y for `count` vectors at addresses x and y, which are strideX and strideY numbers apart. */
  multiply(matrix, x, y, count = 1, strideX = matrix.columns, strideY = matrix.rows) {
    if (count > 0) this.call(matrix.address, x, y, matrix.blocks, matrix.columns, count, 4 * strideX, 4 * strideY);
  }
}
