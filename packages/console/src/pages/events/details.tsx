/** One event: its content, and what became of it. */
import { useState } from 'preact/hooks'
import { useRead } from '../../api/read.ts'
import { readRecords } from '../../api/records.ts'
import { navigateHere } from '../../frame/routes.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { textColumn } from '../../parts/columns.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { type Difference, differences, textIn } from '../../parts/differences.ts'
import { ReadView } from '../../parts/state.tsx'
import { Table } from '../../parts/table.tsx'
import { t } from '../../words/words.ts'
import type { StoredEvent } from './data.ts'
import { stateText } from './list.tsx'
import { ResendDialog } from './resend.tsx'

/** Fields about the delivery; the others are the content. */
const OF_DELIVERY = /^(delivery|receiver|start_notify_time|notify_time|returned_value|email)/

export function EventDetails({ stamp }: { readonly stamp: string }) {
  const [isDialogOpen, setDialogOpen] = useState(false)
  const reading = useRead(`event ${stamp}`, (signal) =>
    readRecords<StoredEvent>('events', { query: { stamp }, size: 1 }, signal),
  )
  const close = () => navigateHere({ stamp: null })
  return (
    <Dialog title={t('eventpage.one')} onClose={close} isDrawer>
      <ReadView reading={reading} rows={16} empty={t('eventpage.gone', { stamp })}>
        {([event]) =>
          event !== undefined && (
            <>
              <p>
                <strong>{event.event_code}</strong> ·{' '}
                {stateText(textIn(event.delivery ?? {}, 'state'))}
              </p>
              <div class="buttons">
                <ActionButton action="events/resend" onAct={() => setDialogOpen(true)}>
                  {t('eventpage.resendOne')}
                </ActionButton>
              </div>
              <FieldTable title={t('eventpage.delivery')} event={event} isDelivery />
              <FieldTable title={t('eventpage.content')} event={event} />
              {isDialogOpen && (
                <ResendDialog
                  events={[event]}
                  onSent={reading.reload}
                  onClose={() => setDialogOpen(false)}
                />
              )}
            </>
          )
        }
      </ReadView>
    </Dialog>
  )
}

interface FieldTableProps {
  readonly title: string
  readonly event: StoredEvent
  readonly isDelivery?: boolean
}

function FieldTable({ title, event, isDelivery = false }: FieldTableProps) {
  const fields = differences({}, event).filter(
    ({ field }) => OF_DELIVERY.test(field) === isDelivery,
  )
  return (
    <Table
      caption={title}
      hasCaption
      columns={[
        textColumn<Difference>('audit.field', ({ field }) => <span class="id">{field}</span>),
        textColumn<Difference>('eventpage.value', ({ after }) => <span dir="auto">{after}</span>),
      ]}
      rows={fields}
      keyOf={({ field }) => field}
    />
  )
}
