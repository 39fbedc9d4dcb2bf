/** Splits the byte stream of a connection into messages (RFC 6733 section 3). */
import { HEADER_BYTES, resultCode, VERSION } from '../codecs/diameter-wire/protocol.ts'

/** Why the rest of a connection cannot be split into messages. */
export interface FrameProblem {
  readonly resultCode: number
  readonly why: string
  /** The invalid header; its identifiers can be used for an answer. */
  readonly header: Buffer
}

export interface Frames {
  /**
   * Calls `onMessage` for each complete message, with a view of the chunk if the message is within
   * one chunk; false from it stops reading permanently. Returns the problem that makes the rest
   * unreadable, after which all input is ignored, otherwise null.
   */
  take(chunk: Buffer, onMessage: (bytes: Buffer) => boolean): FrameProblem | null
}

/** Initial buffer of an incomplete message; it occupies at most twice the received bytes. */
const FIRST_BYTES = 512

export function createFrames(messageBytesMax: number): Frames {
  /** An incomplete message, in the first `filled` bytes. */
  let partial = Buffer.alloc(0)
  let filled = 0
  let hasEnded = false

  const buffer = (bytes: Buffer, length: number) => {
    if (partial.length < filled + bytes.length) {
      const size = Math.max(FIRST_BYTES, 2 * (filled + bytes.length))
      const larger = Buffer.allocUnsafeSlow(Math.min(size, Math.max(length, FIRST_BYTES)))
      partial.copy(larger, 0, 0, filled)
      partial = larger
    }
    bytes.copy(partial, filled)
    filled += bytes.length
  }

  /** Completes `partial`; returns the offset of the rest of the chunk, or the problem. */
  const complete = (chunk: Buffer, onMessage: (bytes: Buffer) => boolean) => {
    let at = 0
    if (filled < HEADER_BYTES) {
      at = Math.min(HEADER_BYTES - filled, chunk.length)
      buffer(chunk.subarray(0, at), HEADER_BYTES)
      if (filled < HEADER_BYTES) return at
    }
    const problem = problemOf(partial, 0, messageBytesMax)
    if (problem !== null) return problem
    const length = lengthAt(partial, 0)
    const end = Math.min(chunk.length, at + length - filled)
    buffer(chunk.subarray(at, end), length)
    if (filled === length) {
      const message = partial.subarray(0, length)
      partial = Buffer.alloc(0)
      filled = 0
      hasEnded = !onMessage(message)
    }
    return end
  }

  return {
    take(chunk, onMessage) {
      let at = 0
      if (hasEnded) return null
      if (filled > 0) {
        const end = complete(chunk, onMessage)
        if (typeof end !== 'number') {
          hasEnded = true
          return end
        }
        at = end
      }
      while (!hasEnded && chunk.length - at >= HEADER_BYTES) {
        const problem = problemOf(chunk, at, messageBytesMax)
        if (problem !== null) {
          hasEnded = true
          return problem
        }
        const length = lengthAt(chunk, at)
        if (chunk.length - at < length) break
        hasEnded = !onMessage(chunk.subarray(at, at + length))
        at += length
      }
      if (!hasEnded && at < chunk.length) {
        const left = chunk.length - at
        buffer(chunk.subarray(at), left < HEADER_BYTES ? HEADER_BYTES : lengthAt(chunk, at))
      }
      return null
    },
  }
}

function lengthAt(bytes: Buffer, at: number): number {
  return (
    ((bytes[at + 1] as number) << 16) | ((bytes[at + 2] as number) << 8) | (bytes[at + 3] as number)
  )
}

function problemOf(bytes: Buffer, at: number, messageBytesMax: number): FrameProblem | null {
  const version = bytes[at] as number
  const problem = (code: number, why: string): FrameProblem => {
    return { resultCode: code, why, header: Buffer.from(bytes.subarray(at, at + HEADER_BYTES)) }
  }
  if (version !== VERSION) {
    return problem(resultCode.unsupportedVersion, `version ${version} is not supported`)
  }
  const length = lengthAt(bytes, at)
  if (length >= HEADER_BYTES && length <= messageBytesMax && length % 4 === 0) return null
  const why = `length ${length} must be a multiple of 4 from 20 to ${messageBytesMax}`
  return problem(resultCode.invalidMessageLength, why)
}
