/** The list of shortcuts. */
import { Dialog } from '../parts/dialog.tsx'
import { t } from '../words/words.ts'
import { hasLetterKeys } from './choices.ts'
import { shortcuts } from './keys.ts'

export function KeysDialog({ onClose }: { readonly onClose: () => void }) {
  const toggle = (event: Event) => {
    hasLetterKeys.value = (event.currentTarget as HTMLInputElement).checked
  }
  return (
    <Dialog title={t('keys.title')} onClose={onClose}>
      <dl class="keys">
        {shortcuts.value.map(({ keys, title }) => (
          <div key={keys}>
            <dt>
              {keys.split(/[ +]/).map((key) => (
                <kbd key={key}>{key === 'Control' ? 'Ctrl' : key}</kbd>
              ))}
            </dt>
            <dd>{t(title)}</dd>
          </div>
        ))}
        <div>
          <dt>
            <kbd>j</kbd>
            <kbd>k</kbd>
          </dt>
          <dd>{t('keys.rows')}</dd>
        </div>
        <div>
          <dt>
            <kbd>Ctrl</kbd>
            <kbd>Enter</kbd>
          </dt>
          <dd>{t('keys.save')}</dd>
        </div>
      </dl>
      <label class="check">
        <input type="checkbox" checked={hasLetterKeys.value} onChange={toggle} />
        {t('keys.letters')}
      </label>
    </Dialog>
  )
}
