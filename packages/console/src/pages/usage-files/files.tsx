/** The list of files, newest first; while one is running its progress is read again. */
import { useMemo, useRef } from 'preact/hooks'
import { elapsedMs } from '../../api/clock.ts'
import { linkHere, location, navigateHere } from '../../frame/routes.ts'
import { numberColumn, textColumn, timeColumn } from '../../parts/columns.tsx'
import { FilterForm } from '../../parts/filter.tsx'
import { List, useList } from '../../parts/list.tsx'
import { formatDuration, formatNumber, formatShort } from '../../parts/numbers.ts'
import { isoOf } from '../../parts/paging.ts'
import { ProgressBar, usePolling } from '../../parts/progress.tsx'
import { type Column, usePageKeys } from '../../parts/table.tsx'
import { t } from '../../words/words.ts'
import { COUNTS, FILE_STATES, readFiles, type UsageFile } from './data.ts'
import { FileReport, isRunning, queueOf, State } from './file.tsx'
import { type FilePace, FilePaces } from './pace.ts'

export function Files() {
  const { file, state = '' } = location.value.query
  const paces = useMemo(() => new FilePaces(), [])
  const isRepeated = useRef(false)
  const reading = useList(`files ${state}`, async (after, signal) => {
    const page = await readFiles({ state }, after, { signal, isSilent: isRepeated.current })
    for (const each of page.rows) if (isRunning(each)) paces.note(each, elapsedMs())
    return page
  })
  const { rows = [] } = reading.state.value.data ?? {}
  const isMoving = rows.some(isRunning)
  isRepeated.current = isMoving
  usePolling(reading, isMoving)
  usePageKeys()
  return (
    <>
      <FilterForm
        label={t('usagefiles.filter')}
        fields={[
          {
            name: 'state',
            label: t('usagefiles.state'),
            choices: FILE_STATES.map((value) => ({ value, label: t(`usagefiles.${value}`) })),
          },
        ]}
      />
      <List
        reading={reading}
        height={12}
        empty={t(state === '' ? 'usagefiles.none' : 'usagefiles.noneFound')}
        caption={t('usagefiles.list')}
        columns={columns(paces)}
        keyOf={({ file: each }) => each}
        isCurrent={({ file: each }) => each === file}
        onOpen={({ file: each }) => navigateHere({ file: each })}
      />
      {file !== undefined && <FileReport key={file} id={file} />}
    </>
  )
}

const columns = (paces: FilePaces): Column<UsageFile>[] => [
  textColumn('usagefiles.name', ({ file, name }) => <a href={linkHere({ file })}>{name}</a>),
  textColumn('usagefiles.type', ({ file_type: type }) => type),
  textColumn('usagefiles.state', (row) =>
    isRunning(row) ? <Running file={row} pace={paces.of(row)} /> : <State file={row} />,
  ),
  ...COUNTS.map((count) => {
    return numberColumn<UsageFile>(`usagefiles.${count}`, (row) => {
      const text = formatNumber(row[count])
      const isLinked = count === 'rejected' && Number(row.rejected) > 0
      return isLinked ? <a href={queueOf(row.file)}>{text}</a> : text
    })
  }),
  timeColumn('usagefiles.begun', ({ begun }) => isoOf(begun), 'second'),
  timeColumn('usagefiles.ended', (row) => (isRunning(row) ? null : isoOf(row.updated)), 'second'),
]

interface RunningProps {
  readonly file: UsageFile
  readonly pace: FilePace
}

function Running({ file, pace }: RunningProps) {
  const label = t('usagefiles.progress', { name: file.name })
  return <ProgressBar percent={pace.percent} label={label} text={paceText(pace)} />
}

function paceText({ percent, perSecond, leftSeconds }: FilePace): string {
  return [
    t('usagefiles.percent', { percent }),
    perSecond === null ? '' : t('usagefiles.rate', { rate: formatShort(perSecond) }),
    leftSeconds === null ? '' : t('usagefiles.left', { time: leftText(leftSeconds) }),
  ]
    .filter((part) => part !== '')
    .join(', ')
}

function leftText(seconds: number): string {
  if (seconds < 120) return formatDuration(seconds, 'second')
  const minutes = Math.ceil(seconds / 60)
  return minutes < 120
    ? formatDuration(minutes, 'minute')
    : formatDuration(Math.ceil(minutes / 60), 'hour')
}
