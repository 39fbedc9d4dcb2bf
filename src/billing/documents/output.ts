/** Where a document is written, piece by piece: its size takes no memory. */
import { writeSync } from 'node:fs'

export interface DocumentOutput {
  write(piece: string | Uint8Array): void
}

const BUFFER_LENGTH = 65_536

/**
 * Writes to an open file, without returning to the event loop: documents are made in threads of
 * their own. Errors are those of the file system.
 */
export class FileOutput implements DocumentOutput {
  readonly #fd: number
  #text = ''

  constructor(fd: number) {
    this.#fd = fd
  }

  write(piece: string | Uint8Array): void {
    if (typeof piece === 'string') {
      this.#text += piece
      if (this.#text.length >= BUFFER_LENGTH) this.end()
      return
    }
    this.end()
    this.#writeBytes(piece)
  }

  /** Writes what is in memory. */
  end(): void {
    const text = this.#text
    this.#text = ''
    this.#writeBytes(Buffer.from(text))
  }

  #writeBytes(bytes: Uint8Array): void {
    for (let written = 0; written < bytes.length; ) {
      written += writeSync(this.#fd, bytes, written)
    }
  }
}
