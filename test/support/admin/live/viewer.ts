/** A viewer of `GET /api/live`: reads the stream as a browser does. */
import { expect } from 'vitest'

export interface StreamEvent {
  readonly event: string
  readonly id: string
  readonly data: Record<string, unknown>
}

export interface Viewer {
  readonly response: Response
  readonly events: readonly StreamEvent[]
  /** The stream ended, by the node or by `close`. */
  readonly isEnded: () => boolean
  /** Waits for a further sample. */
  sample(): Promise<Record<string, unknown>>
  /** Waits until the node ends the stream, and returns the reason. */
  end(): Promise<unknown>
  close(): void
}

export async function openViewer(
  url: string,
  headers: Record<string, string> = {},
): Promise<Viewer> {
  const controller = new AbortController()
  const response = await fetch(url, {
    headers: { accept: 'text/event-stream', ...headers },
    signal: controller.signal,
  })
  const events: StreamEvent[] = []
  let isEnded = false
  const reading = async () => {
    let text = ''
    const decoder = new TextDecoder()
    for await (const part of response.body ?? []) {
      text += decoder.decode(part, { stream: true })
      const blocks = text.split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) events.push(...eventIn(block))
    }
  }
  const isStream = (response.headers.get('content-type') ?? '').startsWith('text/event-stream')
  if (isStream) {
    reading()
      .catch(() => undefined)
      .finally(() => {
        isEnded = true
      })
  }
  const samples = () => events.filter(({ event }) => event === 'sample')
  return {
    response,
    events,
    isEnded: () => isEnded,
    async sample() {
      const before = samples().length
      await expect.poll(() => samples().length).toBeGreaterThan(before)
      return samples().at(-1)?.data ?? {}
    },
    async end() {
      await expect.poll(() => isEnded).toBe(true)
      return events.find(({ event }) => event === 'end')?.data['reason']
    },
    close: () => controller.abort(),
  }
}

/** Comments and `retry` are no events. */
function eventIn(block: string): StreamEvent[] {
  const fields = new Map(
    block.split('\n').map((line) => {
      const at = line.indexOf(':')
      return [line.slice(0, at), line.slice(at + 1).trimStart()] as const
    }),
  )
  const data = fields.get('data')
  if (data === undefined) return []
  const event = fields.get('event') ?? 'message'
  return [{ event, id: fields.get('id') ?? '', data: JSON.parse(data) as Record<string, unknown> }]
}
