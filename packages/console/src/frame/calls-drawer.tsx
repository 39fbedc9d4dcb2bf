/** The calls of the page, each to be repeated in a shell. */
import { type CallRecord, calls, curlOf } from '../api/calls.ts'
import { numberColumn, textColumn } from '../parts/columns.tsx'
import { CopyButton } from '../parts/copy.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { formatDuration } from '../parts/numbers.ts'
import { type Column, Table } from '../parts/table.tsx'
import { formatClock, timeHeader } from '../parts/time.tsx'
import { t } from '../words/words.ts'
import { useEscape } from './keys.ts'

export function CallsDrawer({ onClose }: { readonly onClose: () => void }) {
  // The focus may be on the page beside it.
  useEscape(true, onClose)
  return (
    <Dialog title={t('calls.title')} onClose={onClose} isDrawer>
      <p class="muted">{t('calls.about')}</p>
      <Table
        caption={t('calls.title')}
        columns={columns()}
        rows={calls.value}
        keyOf={({ id }) => String(id)}
      />
    </Dialog>
  )
}

const columns = (): readonly Column<CallRecord>[] => [
  { title: timeHeader(t('calls.time')), cell: ({ atMs }) => formatClock(atMs) },
  textColumn('calls.call', ({ method, path }) => (
    <code>
      {method} /{path}
    </code>
  )),
  textColumn('calls.outcome', outcomeOf),
  numberColumn('calls.took', ({ tookMs }) => {
    return tookMs === null ? '' : formatDuration(tookMs, 'millisecond')
  }),
  textColumn('calls.repeat', (call) => <CopyButton text={curlOf(call)} label={t('calls.curl')} />),
]

function outcomeOf({ outcome, httpStatus }: CallRecord): string {
  const word = t(`calls.${outcome}`)
  return httpStatus === 0 ? word : `${word} (${httpStatus})`
}
