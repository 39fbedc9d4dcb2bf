/**
 * Loaded into the product before it starts (NODE_OPTIONS=--import): each commit of a thread waits
 * for the one before, and for BENCH_HOLD_MS, before it is sent. So the ledger is slow without
 * costing anybody a processor, and the product is saturated by few requests.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'

interface Sent {
  /** Of a call of a script (store/script-command.ts). */
  script?: string
}
type SendCommand = (this: Redis, command: Sent, stream?: unknown) => Promise<unknown>

/** As scripts.ts names the script that commits. */
const HELD = 'commit'
const holdMs = Number(process.env['BENCH_HOLD_MS'] ?? 0)
const prototype = Redis.prototype as unknown as { sendCommand: SendCommand }
const { sendCommand } = prototype
let last: Promise<unknown> = Promise.resolve()

prototype.sendCommand = function send(command, stream) {
  if (command.script !== HELD) return sendCommand.call(this, command, stream)
  const turn = last.then(() => pause(holdMs))
  last = turn
  return turn.then(() => sendCommand.call(this, command, stream))
}
