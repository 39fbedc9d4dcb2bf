/** Lines of segments in open sessions, as the ledger has them. */
import type { LineDocument } from '../../catalog/records/usage/documents.ts'
import { lineDocument } from '../../catalog/records/usage/line-document.ts'
import type { Line } from '../../domain/line.ts'
import type { Session } from '../../domain/session.ts'
import { segmentLines } from '../../ledger/stream-entries.ts'

export class OpenSegmentLines {
  readonly #lines = new Map<string, Line>()

  add(session: Session, sessionKey: string): void {
    if (session.state !== 'open') return
    for (const line of segmentLines(session, sessionKey)) this.#lines.set(line.stamp, line)
  }

  /**
   * The line to count. While the recorder is busy, it writes newer versions of the line of an open
   * segment later (`recorder.openLinesMs`): then that of the ledger.
   */
  newest(recorded: LineDocument): LineDocument {
    const line = this.#lines.get(recorded.stamp)
    return line !== undefined && line.version > recorded.v ? lineDocument(line) : recorded
  }
}
