import { connect } from 'node:net'

export type RawAnswer = { status: number; headers: Map<string, string>; body: string }

/** A plain TCP client, which sends any bytes and splits the received ones into answers. */
export function openSocket(port: number, localAddress = '127.0.0.1') {
  // Without delay, or the system would join pieces that must arrive separately.
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, localAddress })
  let received = ''
  let isClosed = false
  let wake = () => {}
  const wakeUp = () => wake()
  socket.on('data', (bytes) => {
    // Latin-1, so that a byte is a character until an answer is complete: lengths are in bytes.
    received += bytes.toString('latin1')
    wakeUp()
  })
  socket.on('close', () => {
    isClosed = true
    wakeUp()
  })
  // A reset also closes the connection.
  let error: Error | null = null
  socket.on('error', (why) => {
    error = why
  })
  const change = () =>
    new Promise<void>((resolve) => {
      wake = resolve
    })
  return {
    connected: new Promise<void>((resolve) => socket.once('connect', () => resolve())),
    send: (bytes: string | Buffer) =>
      new Promise<void>((resolve) => socket.write(bytes, () => resolve())),
    destroy: () => socket.destroy(),
    /** Closes both directions, because received bytes are no longer read. */
    reset: () => socket.resetAndDestroy(),
    /** The next answer; null if the connection ends before there is one. */
    async answer(): Promise<RawAnswer | null> {
      for (;;) {
        const answer = cutAnswer(received)
        if (answer !== null) {
          received = received.slice(answer.length)
          return answer
        }
        if (isClosed) return null
        await change()
      }
    },
    /** Errors of the connection, such as a reset. */
    error: (): Error | null => error,
    /** Resolves when the other side has ended the connection. */
    async closed(): Promise<void> {
      while (!isClosed) await change()
    },
  }
}

function cutAnswer(text: string): (RawAnswer & { length: number }) | null {
  const headEnd = text.indexOf('\r\n\r\n')
  if (headEnd < 0) return null
  const [statusLine = '', ...lines] = text.slice(0, headEnd).split('\r\n')
  const headers = new Map(
    lines.map((line) => {
      const [name = '', ...value] = line.split(': ')
      return [name.toLowerCase(), value.join(': ')]
    }),
  )
  const size = Number(headers.get('content-length') ?? 0)
  const length = headEnd + 4 + size
  if (text.length < length) return null
  const body = Buffer.from(text.slice(headEnd + 4, length), 'latin1').toString('utf8')
  return { status: Number(statusLine.split(' ')[1]), headers, body, length }
}

/** A POST of JSON to /realtime with a declared length. */
export function post(body: string, header = ''): string {
  const length = Buffer.byteLength(body)
  return `POST /realtime HTTP/1.1\r\nHost: t\r\n${header}Content-Length: ${length}\r\n\r\n${body}`
}
