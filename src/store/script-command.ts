/**
 * A script call as the bytes that Redis takes, written in one go: the driver encodes each argument
 * by itself, which for the two hundred keys of a batch costs more than all else that it does. The
 * connection, its time-outs and its replies stay the driver's.
 */
import { createHash } from 'node:crypto'
import { Command } from 'ioredis'

export type ScriptValue = string | number | Buffer

/** EVALSHA with all its arguments; the reply has Buffers in the place of texts. */
export class ScriptCommand extends Command {
  /** Name of the script, for who looks at commands on their way. */
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

/** The digest by which Redis knows a script. */
export function scriptSha(text: string): string {
  return createHash('sha1').update(text).digest('hex')
}

/** In RESP: an array of bulk strings, each with its length in bytes before it. */
export function encodeScript(
  sha: string,
  keys: readonly string[],
  args: readonly ScriptValue[],
): Buffer {
  let head = `*${3 + keys.length + args.length}\r\n$7\r\nEVALSHA\r\n`
  head += bulk(sha)
  head += bulk(String(keys.length))
  for (let index = 0; index < keys.length; index += 1) head += bulk(keys[index] as string)
  const texts: string[] = [head]
  const blocks: Buffer[] = []
  let text = 0
  for (const arg of args) {
    if (!Buffer.isBuffer(arg)) {
      texts[text] += bulk(String(arg))
      continue
    }
    texts[text] += `$${arg.length}\r\n`
    blocks.push(arg)
    text = texts.push('\r\n') - 1
  }
  return joined(texts, blocks)
}

function bulk(text: string): string {
  return `$${Buffer.byteLength(text)}\r\n${text}\r\n`
}

/** Texts and blocks in turns. */
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
