/** What a process tells the one that started it, if one did. */

/** By setting, as in `realtime.port`. */
export type TakenPorts = Readonly<Record<string, number>>

export interface ReadyMessage {
  readonly type: 'ready'
  /** Ports that were taken, by their settings; absent if it has none. */
  readonly ports?: TakenPorts
}

export interface FailedMessage {
  readonly type: 'failed'
  readonly reason: string
}

export type ChildMessage = ReadyMessage | FailedMessage

export function isChildMessage(message: unknown): message is ChildMessage {
  if (typeof message !== 'object' || message === null || !('type' in message)) return false
  return message.type === 'ready' || message.type === 'failed'
}

/** Nothing happens in a process that nobody has started for this. */
export function tellParent(message: ChildMessage): void {
  if (process.connected) process.send?.(message)
}

/** Ends this process in order as soon as the one that started it is gone. */
export function endWithParent(): void {
  if (process.send === undefined) return
  const end = () => process.kill(process.pid, 'SIGTERM')
  if (process.connected) process.once('disconnect', end)
  else end()
}
