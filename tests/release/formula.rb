# Installs and tests a formula on an archive that lies here, as far as Homebrew's words in it go.
#   ruby formula.rb FORMULA ARCHIVE FOLDER
require "digest"
require "fileutils"
require "pathname"

formula, archive, folder = ARGV.map { |path| Pathname(path).expand_path }
ARCHIVE = archive
FOLDER = folder

# The words of a formula, on Linux with an x86_64 processor.
class Formula
  class << self
    attr_reader :tested, :checksum

    def desc(_text) = nil
    def homepage(_url) = nil
    def license(_names) = nil
    def on_macos = nil
    def on_arm = nil
    def on_linux = yield
    def on_intel = yield
    def url(address) = (@name = File.basename(address))
    def version(number) = define_method(:version) { number }
    def sha256(digest) = @name == ARCHIVE.basename.to_s && @checksum = digest
    def test(&block) = @tested = block
    def inherited(formula) = (super; @@last = formula)
    def last = @@last
  end

  def prefix = FOLDER/"prefix"
  def bin = prefix/"bin"
  def man1 = prefix/"share/man/man1"
  def testpath = FOLDER/"test"
  def system(*command) = Kernel.system(*command.map(&:to_s), exception: true)
  def assert_match(text, output) = output.include?(text) || raise("no #{text} in #{output}")

  def shell_output(command)
    output = `#{command}`
    $?.success? ? output : raise("#{command}: #{$?}")
  end

  def generate_completions_from_executable(*command)
    %w[bash zsh fish].each { |shell| shell_output([*command, shell].join(" ")).empty? && raise("no #{shell}") }
  end
end

class Pathname
  def install(file)
    mkpath
    FileUtils.cp(file, self)
  end
end

load formula.to_s
made = Formula.last
raise "the formula has no checksum of #{archive}" unless made.checksum == Digest::SHA256.file(archive).hexdigest

source = folder/"source"
[source, folder/"test"].each(&:mkpath)
Kernel.system("tar", "--extract", "--strip-components=1", "--file", archive.to_s, "--directory", source.to_s, exception: true)
Dir.chdir(source) { made.new.install }
Dir.chdir(folder/"test") { made.new.instance_eval(&made.tested) }
puts "installed and tested"
