import { Page } from '../../shared/ui/Page'
import { Empty } from '../../shared/ui/states'

export default function Administration() {
  return (
    <Page title="Administration">
      <Empty title="This screen is being built" />
    </Page>
  )
}
