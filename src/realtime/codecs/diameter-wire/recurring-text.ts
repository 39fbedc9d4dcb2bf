/**
 * Decodes a text that usually is the same as in the message before, such as the Origin-Host of a
 * connection. Comparing its bytes is cheaper than decoding them, and the same string is cheaper to
 * look up than an equal one.
 */
export class RecurringText {
  /** The last text of plain ASCII. */
  #last = ''

  read(bytes: Buffer, from: number, to: number): string {
    const last = this.#last
    const { length } = last
    let at = 0
    if (length === to - from) {
      while (at < length && last.charCodeAt(at) === bytes[from + at]) at += 1
      if (at === length) return last
    }
    const text = bytes.toString('utf8', from, to)
    // As many characters as bytes: ASCII, or a replacement character, which equals no byte.
    if (text.length === to - from) this.#last = text
    return text
  }
}
