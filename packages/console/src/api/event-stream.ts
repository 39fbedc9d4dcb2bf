/** Server-sent events of a response: unlike `EventSource`, a refusal can be read. */

export interface ServerEvent {
  readonly name: string
  readonly data: string
}

/** Ends with the stream. */
export async function* eventsOf(response: Response): AsyncGenerator<ServerEvent> {
  const reader = response.body?.getReader()
  if (reader === undefined) return
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) yield eventIn(block)
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

/** Comments, which keep the connection open, have no name. */
function eventIn(block: string): ServerEvent {
  const textOf = (field: string) =>
    block
      .split('\n')
      .filter((line) => line.startsWith(`${field}:`))
      .map((line) => line.slice(field.length + 1).replace(/^ /, ''))
      .join('\n')
  return { name: textOf('event'), data: textOf('data') }
}
