/** A real mail server that keeps what it receives. */
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'

export interface MailServer {
  readonly url: string
  /** Messages that were accepted, as text. */
  readonly messages: string[]
  close(): Promise<void>
}

export interface MailServerOptions {
  port?: number
  /** Whether the server accepts the next message, which is for this address. */
  accepts?: (receiver: string) => boolean
  /** Whether there is no such address. */
  refuses?: (receiver: string) => boolean
}

export async function startMailServer(options: MailServerOptions = {}): Promise<MailServer> {
  const { port = 0, accepts = () => true, refuses = () => false } = options
  const messages: string[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onRcptTo({ address }, _session, done) {
      if (!refuses(address)) return done()
      done(Object.assign(new Error('no such user'), { responseCode: 550 }))
    },
    onData(stream, { envelope }, done) {
      const parts: Buffer[] = []
      stream.on('data', (part: Buffer) => parts.push(part))
      stream.on('end', () => {
        const [receiver] = envelope.rcptTo
        if (!accepts(receiver?.address ?? '')) return done(new Error('try again later'))
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
