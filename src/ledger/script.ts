/**
 * Declares a Lua script: its text with resolved includes, its keys and arguments, and its reply
 * parser.
 */
import { readFileSync } from 'node:fs'
import type { RedisConnection } from '../store/redis.ts'
import type { ScriptValue } from '../store/script-command.ts'
import { REPLY } from './replies.ts'

const LUA_FOLDER = new URL('./lua/', import.meta.url)
const INCLUDE = /^-- @include (\w+)$/gm

export interface Script<Input, Reply> {
  name: string
  /** Complete text, as sent to Redis. */
  text: string
  /**
   * Its writes must survive the loss of a master: a call waits for the configured number of
   * replicas.
   */
  isDurable: boolean
  keys: (input: Input) => string[]
  args: (input: Input) => ScriptValue[]
  reply: (raw: unknown, input: Input) => Reply
}

/**
 * Returns the text of a script with the reply codes as locals and the includes inserted. Throws if
 * an include is missing.
 */
export function scriptText(name: string): string {
  const source = readFileSync(new URL(`${name}.lua`, LUA_FOLDER), 'utf8')
  const body = source.replace(INCLUDE, (_, include: string) =>
    readFileSync(new URL(`include/${include}.lua`, LUA_FOLDER), 'utf8'),
  )
  const codes = Object.entries(REPLY).filter(([code]) => new RegExp(`\\b${code}\\b`).test(body))
  const locals = codes.map(([code, value]) => `local ${code} = ${value}\n`)
  return locals.join('') + body
}

export function defineScript<Input, Reply>(
  declaration: Omit<Script<Input, Reply>, 'text' | 'isDurable'> & { isDurable?: true },
): Script<Input, Reply> {
  return { isDurable: false, ...declaration, text: scriptText(declaration.name) }
}

/** Runs a script by its digest; the connection sends the text if Redis does not have it yet. */
export async function runScript<Input, Reply>(
  redis: RedisConnection,
  script: Script<Input, Reply>,
  input: Input,
): Promise<Reply> {
  const { name, text, isDurable } = script
  const [keys, args] = [script.keys(input), script.args(input)]
  const raw = await redis.runScript({ name, text, keys, args, isDurable })
  return script.reply(raw, input)
}
