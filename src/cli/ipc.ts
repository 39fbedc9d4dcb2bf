/** Messages between a process and its parent, if it has one. */

/** Ports by setting name, as in `realtime.port`. */
export type BoundPorts = Readonly<Record<string, number>>

export interface ReadyMessage {
  readonly type: 'ready'
  /** Ports that the process listens on; absent if it has none. */
  readonly ports?: BoundPorts
}

export interface FailedMessage {
  readonly type: 'failed'
  readonly reason: string
}

/** The standby has loaded everything and waits for the order to open its sockets. */
export interface PreparedMessage {
  readonly type: 'prepared'
}

/** Sent at intervals from the moment the process could open its sockets. */
export interface AliveMessage {
  readonly type: 'alive'
}

export type ChildMessage = ReadyMessage | FailedMessage | PreparedMessage | AliveMessage

/** Sent to a standby when its predecessor has exited and its ports are free. */
export const TAKE_OVER = { type: 'takeOver' } as const

export function isChildMessage(message: unknown): message is ChildMessage {
  if (typeof message !== 'object' || message === null || !('type' in message)) return false
  return ['ready', 'failed', 'prepared', 'alive'].includes(message.type as string)
}

/** Does nothing in a process without a parent channel. */
export function notifyParent(message: ChildMessage): void {
  if (process.connected) process.send?.(message)
}

/** Beats within the silence after which the parent kills a process. */
export const BEATS = 8

let isBeating = false

/** Lets the parent notice that this process is frozen (`ChildOptions.silence`). */
export function beatToParent(silenceMs: number): void {
  if (isBeating) return
  isBeating = true
  const beat = () => notifyParent({ type: 'alive' })
  setInterval(beat, silenceMs / BEATS).unref()
  beat()
}

let endsWithParent = false

/** Shuts this process down in order as soon as its parent has exited. */
export function endWithParent(): void {
  if (process.send === undefined || endsWithParent) return
  endsWithParent = true
  const end = () => process.kill(process.pid, 'SIGTERM')
  if (process.connected) process.once('disconnect', end)
  else end()
}

/** Argument that makes a process a standby. */
export const STANDBY = '--standby'

let order: Promise<void> | null = null

/** Makes this process a standby: from now on `mayListen` waits for the order to take over. */
export function standBy(): void {
  order = new Promise((resolve) => {
    process.on('message', (message: Partial<typeof TAKE_OVER>) => {
      if (message?.type === TAKE_OVER.type) resolve()
    })
  })
}

/**
 * Resolves when this process may open its ports: immediately with false, unless it is a standby.
 */
export async function mayListen(): Promise<boolean> {
  if (order === null) return false
  notifyParent({ type: 'prepared' })
  endWithParent()
  await order
  return true
}
