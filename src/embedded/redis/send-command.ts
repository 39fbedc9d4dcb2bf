import { connect } from 'node:net'

/** No process listens on the socket. */
export class NobodyListensError extends Error {
  override readonly name = 'NobodyListensError'
}

/**
 * Sends one command to the Redis on a unix socket and returns its reply: the text of a status, an
 * error (with its leading `-`) or a bulk string; '' if the server closed without a reply, as it
 * does after SHUTDOWN. Other types of replies are not supported.
 * @throws NobodyListensError if no process listens; Error if there is no reply within `timeoutMs`
 */
export function sendCommand(
  socketPath: string,
  command: string[],
  timeoutMs: number,
): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = ''
    const socket = connect(socketPath)
    const settle = (act: () => void) => {
      clearTimeout(timer)
      socket.destroy()
      act()
    }
    const timer = setTimeout(() => {
      const what = `${command[0]} on ${socketPath}`
      settle(() => reject(new Error(`no answer to ${what} within ${timeoutMs} ms`)))
    }, timeoutMs)
    socket.once('connect', () => socket.write(`${command.join(' ')}\r\n`))
    socket.on('data', (bytes) => {
      received += bytes.toString('latin1')
      const reply = completeReply(received)
      if (reply !== undefined) settle(() => resolve(reply))
    })
    socket.once('end', () => settle(() => resolve('')))
    socket.once('error', (error: NodeJS.ErrnoException) => {
      const nobody = error.code === 'ECONNREFUSED' || error.code === 'ENOENT'
      settle(() => reject(nobody ? new NobodyListensError(socketPath) : error))
    })
  })
}

/** The reply if it is complete. Inline commands are answered in the same protocol (RESP2). */
function completeReply(received: string): string | undefined {
  const end = received.indexOf('\r\n')
  if (end < 0) return undefined
  const head = received.slice(1, end)
  if (received[0] === '-') return `-${head}`
  if (received[0] !== '$') return head
  const body = received.slice(end + 2)
  return body.length >= Number(head) + 2 ? body.slice(0, Number(head)) : undefined
}
