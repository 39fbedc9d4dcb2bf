/**
 * Loaded into the product before it starts (NODE_OPTIONS=--import): each commit of a thread waits
 * for the previous one, and for BENCH_HOLD_MS, before it is sent. This slows the ledger down
 * without processor time, so that few requests saturate the product.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'

interface Sent {
  /** Set for the call of a script (store/script-command.ts). */
  script?: string
}
type SendCommand = (this: Redis, command: Sent, stream?: unknown) => Promise<unknown>

/** The name of the commit script in scripts.ts. */
const COMMIT_SCRIPT = 'commit'
const holdMs = Number(process.env['BENCH_HOLD_MS'] ?? 0)
const prototype = Redis.prototype as unknown as { sendCommand: SendCommand }
const { sendCommand } = prototype
let last: Promise<unknown> = Promise.resolve()

prototype.sendCommand = function send(command, stream) {
  if (command.script !== COMMIT_SCRIPT) return sendCommand.call(this, command, stream)
  const turn = last.then(() => pause(holdMs))
  last = turn
  return turn.then(() => sendCommand.call(this, command, stream))
}
