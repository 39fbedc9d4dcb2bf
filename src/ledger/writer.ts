/** A growing buffer for packed script arguments: one argument is far cheaper to send than many. */
export class Writer {
  private buffer: Buffer
  private length = 0

  constructor(sizeBytes: number) {
    this.buffer = Buffer.allocUnsafe(sizeBytes)
  }

  /** What has been written; valid as long as the writer is not used again. */
  bytes(): Buffer {
    return this.buffer.subarray(0, this.length)
  }

  u16(value: number): void {
    this.room(2)
    this.length = this.buffer.writeUInt16LE(value, this.length)
  }

  f64(value: number): void {
    this.room(8)
    this.length = this.buffer.writeDoubleLE(value, this.length)
  }

  /** Length as u32, then the bytes. */
  block(bytes: Uint8Array): void {
    this.room(4 + bytes.length)
    this.buffer.writeUInt32LE(bytes.length, this.length)
    this.buffer.set(bytes, this.length + 4)
    this.length += 4 + bytes.length
  }

  /** Length as u32, then the text in UTF-8. */
  text(text: string): void {
    this.room(4 + text.length * 3)
    const written = this.buffer.write(text, this.length + 4)
    this.buffer.writeUInt32LE(written, this.length)
    this.length += 4 + written
  }

  /** Reserves a u32 for a length; `closeLength` fills in how many bytes followed. */
  openLength(): number {
    this.room(4)
    this.length += 4
    return this.length
  }

  closeLength(openedAt: number): void {
    this.buffer.writeUInt32LE(this.length - openedAt, openedAt - 4)
  }

  private room(sizeBytes: number): void {
    const needed = this.length + sizeBytes
    if (needed <= this.buffer.length) return
    const grown = Buffer.allocUnsafe(Math.max(needed, this.buffer.length * 2))
    this.buffer.copy(grown, 0, 0, this.length)
    this.buffer = grown
  }
}
