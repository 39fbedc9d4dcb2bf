/** What a process and the one that started it, if one did, tell each other. */

/** By setting, as in `realtime.port`. */
export type BoundPorts = Readonly<Record<string, number>>

export interface ReadyMessage {
  readonly type: 'ready'
  /** Ports that were taken, by their settings; absent if it has none. */
  readonly ports?: BoundPorts
}

export interface FailedMessage {
  readonly type: 'failed'
  readonly reason: string
}

/** A standby has everything but its sockets, and waits for the order to open them. */
export interface PreparedMessage {
  readonly type: 'prepared'
}

export type ChildMessage = ReadyMessage | FailedMessage | PreparedMessage

/** To a standby: its predecessor has ended, and its ports are free. */
export const TAKE_OVER = { type: 'takeOver' } as const

export function isChildMessage(message: unknown): message is ChildMessage {
  if (typeof message !== 'object' || message === null || !('type' in message)) return false
  return ['ready', 'failed', 'prepared'].includes(message.type as string)
}

/** Nothing happens in a process that nobody has started for this. */
export function notifyParent(message: ChildMessage): void {
  if (process.connected) process.send?.(message)
}

let endsWithParent = false

/** Ends this process in order as soon as the one that started it is gone. */
export function endWithParent(): void {
  if (process.send === undefined || endsWithParent) return
  endsWithParent = true
  const end = () => process.kill(process.pid, 'SIGTERM')
  if (process.connected) process.once('disconnect', end)
  else end()
}

/** Argument of a process that is to be a standby. */
export const STANDBY = '--standby'

let order: Promise<void> | null = null

/** Makes this process a standby: `mayListen` waits from now on for the order to take over. */
export function standBy(): void {
  order = new Promise((resolve) => {
    process.on('message', (message: Partial<typeof TAKE_OVER>) => {
      if (message?.type === TAKE_OVER.type) resolve()
    })
  })
}

/** Resolves when this process may take its ports; false, and at once, unless it is a standby. */
export async function mayListen(): Promise<boolean> {
  if (order === null) return false
  notifyParent({ type: 'prepared' })
  endWithParent()
  await order
  return true
}
