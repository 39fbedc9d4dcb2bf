/**
 * A script call encoded to bytes in one piece: the driver encodes each argument separately, which
 * for the two hundred keys of a batch costs more than all its other work. Connection, time-outs and
 * replies remain the driver's.
 */
import { createHash } from 'node:crypto'
import { Command } from 'ioredis'

/** Further arguments, each encoded as it is sent. */
export interface EncodedValues {
  count: number
  bytes: Buffer
}

export type ScriptValue = string | number | Buffer | EncodedValues

/** EVALSHA with its arguments; replies contain Buffers instead of texts. */
export class ScriptCommand extends Command {
  /** Name of the script, for code that inspects commands. */
  readonly script: string
  readonly #bytes: Buffer

  constructor(script: string, sha: string, keys: readonly string[], args: readonly ScriptValue[]) {
    super('evalsha', [], { replyEncoding: null })
    this.script = script
    this.#bytes = encodeScript(sha, keys, args)
  }

  override toWritable(): Buffer {
    return this.#bytes
  }
}

/** The digest by which Redis identifies a script. */
export function scriptSha(text: string): string {
  return createHash('sha1').update(text).digest('hex')
}

/** RESP: an array of bulk strings, each preceded by its length in bytes. */
export function encodeScript(
  sha: string,
  keys: readonly string[],
  args: readonly ScriptValue[],
): Buffer {
  let count = 3 + keys.length
  for (const arg of args) count += isEncoded(arg) ? arg.count : 1
  let head = `*${count}\r\n$7\r\nEVALSHA\r\n`
  head += bulk(sha)
  head += bulk(String(keys.length))
  for (let index = 0; index < keys.length; index += 1) head += bulk(keys[index] as string)
  const texts: string[] = [head]
  const blocks: Buffer[] = []
  let text = 0
  for (const arg of args) {
    if (isEncoded(arg)) {
      blocks.push(arg.bytes)
      text = texts.push('') - 1
    } else if (Buffer.isBuffer(arg)) {
      texts[text] += `$${arg.length}\r\n`
      blocks.push(arg)
      text = texts.push('\r\n') - 1
    } else texts[text] += bulk(String(arg))
  }
  return joined(texts, blocks)
}

function isEncoded(arg: ScriptValue): arg is EncodedValues {
  return typeof arg === 'object' && !Buffer.isBuffer(arg)
}

/** The arguments one by one, as the driver's own call takes them. */
export function separateValues(args: readonly ScriptValue[]): (string | number | Buffer)[] {
  return args.flatMap((arg) => (isEncoded(arg) ? decoded(arg) : [arg]))
}

function decoded({ count, bytes }: EncodedValues): Buffer[] {
  let at = 0
  return Array.from({ length: count }, () => {
    const headEnd = bytes.indexOf('\r\n', at)
    const from = headEnd + 2
    const end = from + Number(bytes.toString('latin1', at + 1, headEnd))
    at = end + 2
    return bytes.subarray(from, end)
  })
}

function bulk(text: string): string {
  return `$${Buffer.byteLength(text)}\r\n${text}\r\n`
}

/** Concatenates alternating texts and blocks. */
function joined(texts: readonly string[], blocks: readonly Buffer[]): Buffer {
  let size = 0
  for (const text of texts) size += Buffer.byteLength(text)
  for (const block of blocks) size += block.length
  const bytes = Buffer.allocUnsafe(size)
  let at = 0
  for (let index = 0; index < texts.length; index += 1) {
    at += bytes.write(texts[index] as string, at)
    const block = blocks[index]
    if (block === undefined) continue
    block.copy(bytes, at)
    at += block.length
  }
  return bytes
}
