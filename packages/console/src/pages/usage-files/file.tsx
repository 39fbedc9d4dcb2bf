/** The report of a file: what was charged by usage type, and its records that wait. */
import { useRead } from '../../api/read.ts'
import { link, navigateHere } from '../../frame/routes.ts'
import { moneyColumn, numberColumn, textColumn } from '../../parts/columns.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Facts } from '../../parts/facts.tsx'
import { formatMoney, formatNumber } from '../../parts/numbers.ts'
import { isoOf } from '../../parts/paging.ts'
import { ReadView } from '../../parts/state.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { t } from '../../words/words.ts'
import {
  COUNTS,
  problemOf,
  type RejectedRecord,
  readFiles,
  readRejected,
  type UsageFile,
} from './data.ts'

export function FileReport({ id }: { readonly id: string }) {
  const reading = useRead(`file ${id}`, async (signal) => {
    const [{ rows: files }, { rows: waiting }] = await Promise.all([
      readFiles({ file: id }, null, { signal }),
      readRejected({ file: id }, null, signal),
    ])
    return files.map((file) => ({ file, waiting }))
  })
  return (
    <Dialog title={t('usagefiles.report')} onClose={() => navigateHere({ file: null })} isDrawer>
      <ReadView reading={reading} rows={16} empty={t('usagefiles.gone')}>
        {([read]) => read !== undefined && <Report {...read} />}
      </ReadView>
    </Dialog>
  )
}

interface ReportProps {
  readonly file: UsageFile
  readonly waiting: readonly RejectedRecord[]
}

function Report({ file, waiting }: ReportProps) {
  const { name, file_type: type, size, begun, updated, error, totals } = file
  return (
    <div class="stack">
      <Facts
        facts={[
          { title: t('usagefiles.name'), value: name },
          { title: t('usagefiles.type'), value: type },
          { title: t('usagefiles.state'), value: <State file={file} /> },
          { title: t('usagefiles.error'), value: error },
          { title: t('usagefiles.size'), value: formatNumber(size), isNumber: true },
          ...COUNTS.map((count) => ({
            title: t(`usagefiles.${count}`),
            value: formatNumber(file[count]),
            isNumber: true,
          })),
          { title: t('usagefiles.begun'), value: <Time value={isoOf(begun)} precision="second" /> },
          {
            title: t(isRunning(file) ? 'usagefiles.lastProgress' : 'usagefiles.ended'),
            value: <Time value={isoOf(updated)} precision="second" />,
          },
          { title: t('usagefiles.id'), value: <span class="id">{file.file}</span> },
        ]}
      />
      {totals.length > 0 && (
        <Table
          caption={t('usagefiles.totals')}
          hasCaption
          columns={totalColumns()}
          rows={totals}
          keyOf={({ usaget }) => usaget}
        />
      )}
      {waiting.length > 0 && (
        <>
          <Table
            caption={t('usagefiles.waitingRecords')}
            hasCaption
            columns={waitingColumns()}
            rows={waiting}
            keyOf={({ id }) => id}
          />
          <a href={queueOf(file.file)}>{t('usagefiles.toQueue')}</a>
        </>
      )}
    </div>
  )
}

const totalColumns = (): Column<UsageFile['totals'][number]>[] => [
  textColumn('usagefiles.usaget', ({ usaget }) => usaget),
  numberColumn('usagefiles.charged', ({ records }) => formatNumber(records)),
  numberColumn('usagefiles.units', ({ units }) => formatNumber(units)),
  moneyColumn('usagefiles.price', ({ price }) => formatMoney(price)),
]

const waitingColumns = (): Column<RejectedRecord>[] => [
  numberColumn('usagefiles.line', ({ id, file, line }) => {
    const address = link('usage-files', { tab: 'rejected', file, record: id })
    return <a href={address}>{formatNumber(line)}</a>
  }),
  textColumn('usagefiles.reason', problemOf),
]

export function isRunning({ state }: UsageFile): boolean {
  return state === 'running'
}

/** The rejected records of a file that wait. */
export function queueOf(file: string): string {
  return link('usage-files', { tab: 'rejected', file })
}

export function State({ file: { state } }: { readonly file: UsageFile }) {
  const mark = { running: '', done: 'good', failed: 'bad' }[state]
  return <strong class={`mark ${mark}`}>{t(`usagefiles.${state}`)}</strong>
}
