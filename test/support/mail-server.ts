/** A real mail server that keeps what it receives. */
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'

export interface MailServer {
  readonly url: string
  /** Messages that were accepted, as text. */
  readonly messages: string[]
  close(): Promise<void>
}

/** `accepts`: whether the server accepts the next message. */
export async function startMailServer(port = 0, accepts = () => true): Promise<MailServer> {
  const messages: string[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, _session, done) {
      const parts: Buffer[] = []
      stream.on('data', (part: Buffer) => parts.push(part))
      stream.on('end', () => {
        if (!accepts()) return done(new Error('try again later'))
        messages.push(Buffer.concat(parts).toString('utf8'))
        done()
      })
    },
  })
  server.on('error', () => undefined)
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const { port: bound } = server.server.address() as AddressInfo
  return {
    url: `smtp://127.0.0.1:${bound}`,
    messages,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}
