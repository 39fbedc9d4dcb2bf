import type { MessagePort } from 'node:worker_threads'
import type { PackedResult } from '../domain/packed-outcomes.ts'
import type { PackedTask, ReplyMessage, TaskMessage } from '../domain/worker-protocol.ts'

/**
 * Answers the batches received on a port, each when it is done, until the port is closed: the task
 * that piscina runs in a worker thread for each event loop. A batch whose processing rejects is
 * answered with the error; the others continue.
 */
export function serve(
  port: MessagePort,
  process: (task: PackedTask) => Promise<PackedResult>,
): Promise<void> {
  port.on('message', (task: TaskMessage) => {
    const { id } = task
    const answer = (reply: ReplyMessage) => port.postMessage(reply)
    process(task).then(
      ({ numbers, texts, quotes, stats }) => answer({ id, numbers, texts, quotes, stats }),
      (error: unknown) => answer({ id, error }),
    )
  })
  return new Promise((resolve) => port.once('close', resolve))
}
