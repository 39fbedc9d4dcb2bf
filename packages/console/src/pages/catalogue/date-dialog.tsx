/** Changes of the period of a revision: it is moved, ended, continued, or deleted. */
import { answerOf } from '../../api/client.ts'
import { nodeZone } from '../../api/session.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { textIn } from '../../parts/differences.ts'
import { Field } from '../../parts/field.tsx'
import { Form, useForm } from '../../parts/form.tsx'
import type { Revision } from '../../parts/revisions.ts'
import { formatTime } from '../../parts/time.tsx'
import { t } from '../../words/words.ts'
import type { Collection } from './data.ts'

export type DatedAction = 'move' | 'close' | 'reopen' | 'delete'

interface DateDialogProps {
  readonly action: DatedAction
  readonly collection: Collection
  readonly revision: Revision
  /** With the id of the revision to show; null for the present one. */
  readonly onDone: (id: string | null) => void
  readonly onClose: () => void
}

/** The date that each action sets. */
const SETS = { move: 'from', close: 'to', reopen: 'from', delete: null } as const

export function DateDialog({ action, collection, revision, onDone, onClose }: DateDialogProps) {
  const set = SETS[action]
  const name = textIn(revision, collection.key)
  const form = useForm({ date: '' }, async ({ date }) => {
    const path = `billapi/${collection.name}/${action}` as 'billapi/rates/close'
    const query = { _id: revision._id.$id }
    await answerOf(path, { query, ...(set !== null && { update: { [set]: date } }) })
    onClose()
    onDone(action === 'delete' ? null : revision._id.$id)
  })
  const from = formatTime(revision.from)
  return (
    <Dialog title={t(`catalogue.${action}`)} onClose={onClose}>
      <Form form={form} save={t(`catalogue.${action}`)}>
        <p>{t(`catalogue.${action}.about`, { name, from })}</p>
        {set !== null && (
          <Field
            label={t('catalogue.date', { zone: nodeZone.value })}
            {...form.field('date')}
            error={form.errorAt(set)}
            input={{ type: 'date', required: true }}
          />
        )}
      </Form>
    </Dialog>
  )
}
