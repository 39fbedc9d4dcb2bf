/** How a network element of the tests writes the fields of plain JSON in its message format. */
import type { Client } from '../../product/charge-client.ts'
import type { Fields } from '../exchange.ts'

/** Sends a request and returns its answer. Rejects with `ConnectionLostError`. */
export type Connection = Pick<Client, 'post' | 'close'>

export interface DialectAdapter {
  name: string
  path: string
  contentType: string
  /** Opens a connection, unless the format uses HTTP. */
  open?(): Connection
  /** The session id on lines, if it differs. */
  lineSessionId?(sessionId: string): string
  /** Reports are written as totals of the session so far. */
  countsTotals?: boolean
  /** Writes a request of the plain JSON format in this one. */
  write(fields: Fields): string
  /** Reads an answer of this format, with the names of plain JSON. */
  read(text: string): Fields
}

export const plainJson: DialectAdapter = {
  name: 'json',
  path: '/realtime',
  contentType: 'application/json',
  write: (fields) => JSON.stringify(fields),
  read: (text) => JSON.parse(text) as Fields,
}
